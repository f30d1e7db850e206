const DIGITS = 8
const TAG_LENGTH = 8

/** Every nonce has this length, so that it can be written into a prepared response. */
export const NONCE_LENGTH = TAG_LENGTH + 1 + DIGITS

/** Nonces of one stream: its tag and a count. */
export class NonceSource {
  readonly #prefix: string
  #count = 0

  /** @param tag - ASCII; longer ones are cut */
  constructor(tag: string) {
    this.#prefix = `${tag.slice(0, TAG_LENGTH).padStart(TAG_LENGTH, '0')}-`
  }

  next(): string {
    this.#count += 1
    return this.#prefix + this.#count.toString(36).padStart(DIGITS, '0')
  }
}
