const names = new Set(['ash', 'bash', 'busybox', 'dash', 'sh', 'zsh'])

/**
 * @param {readonly string[]} paths of the files of an image
 * @returns {readonly string[]} those that are shells
 */
export function shellsAmong(paths) {
  return paths.filter((path) => names.has(path.slice(path.lastIndexOf('/') + 1)))
}
