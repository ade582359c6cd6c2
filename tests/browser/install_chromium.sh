#!/bin/sh
# Installs Debian's Chromium unless it is there. Needs root.
set -eu
if command -v chromium >/dev/null; then exit 0; fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium
