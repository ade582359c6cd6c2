/**
 * Holds the size of what a page loads to call a tool over HTTP: the whole of `mod.ts`, bundled and minified. The bundle
 * of the pool alone has nearly all of it, since a pool makes every kind of session.
 *
 * @module
 */
import { bundleOfPackage } from "./bundle.ts";

const LIMIT_BYTES = 60_000;

const bytes = new TextEncoder().encode(await bundleOfPackage());
const gzipped = await new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))).bytes();
const kb = (count: number) => `${(count / 1000).toFixed(1)} KB`;
console.log(`mod.ts: ${kb(bytes.length)} minified, ${kb(gzipped.length)} gzip, limit ${kb(LIMIT_BYTES)}`);
Deno.exitCode = gzipped.length > LIMIT_BYTES ? 1 : 0;
