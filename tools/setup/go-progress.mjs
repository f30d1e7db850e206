/** How far `go build -v` is, from what it prints. */
export class GoProgress {
  /** @type {ReadonlySet<string>} */
  #all
  /** @type {Set<string>} */
  #compiled = new Set()
  #last = ''

  /** @param {readonly string[]} packages import paths of all that is built; empty if they are not known */
  constructor(packages) {
    this.#all = new Set(packages)
  }

  /**
   * Takes a line of standard error.
   * @param {string} line
   */
  take(line) {
    if (!this.isPackage(line)) return
    this.#compiled.add(line)
    this.#last = line
  }

  /**
   * True for a line that names a package, and false for a message.
   * @param {string} line
   */
  isPackage(line) {
    return this.#all.has(line)
  }

  /** Go says when it starts to compile a package. It does not name those of earlier builds, and says nothing while it links. */
  describe() {
    const { size } = this.#compiled
    if (size === 0) return 'preparing'
    const share = Math.floor((100 * size) / this.#all.size)
    return `${size} of ${this.#all.size} packages (${share} %), now ${this.#last},`
  }
}
