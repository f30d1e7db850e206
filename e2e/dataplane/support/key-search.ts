import { createPrivateKey, createPublicKey } from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync } from 'node:fs'

const PEM_KEYS = /-----BEGIN (?:EC )?PRIVATE KEY-----(?:\n|\\n)[A-Za-z0-9+/=\n\\]+?-----END (?:EC )?PRIVATE KEY-----/g
/** Characters of base64 that a line break of PEM may not cut: 96 bits, which no text has by chance. */
const BASE64_LENGTH = 16
/** Memory is read in pieces, which overlap by more than the longest form. */
const PIECE_BYTES = 16 * 1024 * 1024
const OVERLAP_BYTES = 256

/** Private keys as PEM in a text, each once. Line breaks may be escaped, as JSON does. */
export function privateKeysIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(PEM_KEYS)].map(([pem]) => pem.replaceAll(String.raw`\n`, '\n')))]
}

/** A key in the forms in which programs hold it. All of them contain its secret number, and nothing that is public. */
export class KeyForms {
  /** PEM. Names the key in failures. */
  readonly publicKey: string
  readonly #binary: readonly Buffer[]
  readonly #text: readonly Buffer[]

  /** @param privateKey - PEM, of an elliptic curve */
  constructor(privateKey: string) {
    const key = createPrivateKey(privateKey)
    this.publicKey = String(createPublicKey(key).export({ type: 'spki', format: 'pem' }))
    const { d = '' } = key.export({ format: 'jwk' })
    const secret = Buffer.from(d, 'base64url')
    // DER and PEM have the bytes in order; the numbers of OpenSSL begin with the lowest one.
    this.#binary = [secret, Buffer.from(secret).reverse()]
    const hex = secret.toString('hex')
    this.#text = [hex, hex.toUpperCase(), ...base64Forms(secret)].map((form) => Buffer.from(form))
  }

  /** Whether some form of the key is there. */
  isIn(content: Buffer): boolean {
    return this.isNumberIn(content) || this.#text.some((form) => content.includes(form))
  }

  /** Whether the secret number itself is there, as its bytes. */
  isNumberIn(content: Buffer): boolean {
    return this.#binary.some((form) => content.includes(form))
  }
}

/** The ends of base64 for each offset that the number can have in what is encoded. */
function base64Forms(secret: Buffer): readonly string[] {
  const forms = [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), secret]).toString('base64')
    // The first and the last characters depend on the neighbours of the number.
    const own = encoded.slice(offset === 0 ? 0 : 4, -4)
    return [own.slice(0, BASE64_LENGTH), own.slice(-BASE64_LENGTH)]
  })
  return [...new Set(forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]))]
}

/** Those of the keys whose bytes are in the writable memory of a process: its buffers, and the numbers of OpenSSL. The text of its heap is in a snapshot of that. */
export function keysInMemory(pid: number, keys: readonly KeyForms[]): readonly KeyForms[] {
  const found = new Set<KeyForms>()
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  try {
    const piece = Buffer.alloc(PIECE_BYTES + OVERLAP_BYTES)
    for (const { start, end } of writableRanges(pid)) {
      for (let at = start; at < end; at += PIECE_BYTES) {
        const length = readRange(memory, piece, at, Math.min(piece.length, end - at))
        const content = piece.subarray(0, length)
        for (const key of keys) if (!found.has(key) && key.isNumberIn(content)) found.add(key)
      }
    }
  } finally {
    closeSync(memory)
  }
  return [...found]
}

function writableRanges(pid: number): readonly { readonly start: number; readonly end: number }[] {
  const lines = readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')
  return lines.flatMap((line) => {
    const [, start = '', end = ''] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? []
    return start === '' ? [] : [{ start: Number.parseInt(start, 16), end: Number.parseInt(end, 16) }]
  })
}

/** A range may be given back to the system while it is read: nothing is in it then. */
function readRange(memory: number, into: Buffer, at: number, length: number): number {
  try {
    return readSync(memory, into, 0, length, at)
  } catch (error) {
    if (['EIO', 'EFAULT'].includes(String((error as NodeJS.ErrnoException).code))) return 0
    throw error
  }
}
