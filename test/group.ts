/**
 * Runs the test files named in argv in one process, one after another: what they import is loaded once. The runner
 * puts files together that are short and measure nothing of their process.
 */
import { pathToFileURL } from "node:url";
import { runFiles } from "./suite.js";

runFiles(process.argv.slice(2).map((path) => pathToFileURL(path)));
