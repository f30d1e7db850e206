/** Something about this machine that its user can put right. Shown without a stack. */
export class SetUpError extends Error {
  /**
   * @param {string} message what is wrong and what to do
   * @param {string} [output] what a failed program printed
   */
  constructor(message, output) {
    super(output?.trim() ? `${message}\n${output.trim()}` : message)
    this.name = 'SetUpError'
  }
}
