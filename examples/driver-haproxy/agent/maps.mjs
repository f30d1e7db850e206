/** @typedef {import('./files.mjs').ConfigFile} ConfigFile */

/**
 * Commands of the runtime interface that give maps the values of other files of the same keys, with what HAProxy answers if it does as it is told.
 * @param {readonly ConfigFile[]} running
 * @param {readonly ConfigFile[]} wanted
 */
export function mapCommands(running, wanted) {
  const before = new Set(running.flatMap(({ name, content }) => linesOf(content).map((line) => `${name} ${line}`)))
  return wanted
    .filter(({ live }) => live === true)
    .flatMap(({ name, content }) => linesOf(content).map((line) => `${name} ${line}`))
    .filter((entry) => !before.has(entry))
    .map((entry) => ({ command: `set map ${entry}`, answer: /^$/ }))
}

/** @param {string} content */
function linesOf(content) {
  return content.split('\n').filter((line) => line !== '')
}
