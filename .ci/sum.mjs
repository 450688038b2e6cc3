/** Adds the closing lines of the runs of the tests and prints one; a run that left none has failed. */
const sums = process.argv.slice(2).map((line) => {
  const counts = /^(\d+) passed, (\d+) failed, (\d+) skipped$/.exec(line);
  return counts === null ? [0, 1, 0] : counts.slice(1).map(Number);
});
const [passed, failed, skipped] = [0, 1, 2].map((i) => sums.reduce((sum, counts) => sum + counts[i], 0));
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = passed > 0 && failed === 0 ? 0 : 1;
