import type { ObjectOrigin } from '../../problem.js'
import { readClientCredential, type SecretReading } from '../../secrets/client-credential.js'
import { sameValue } from '../content.js'
import { isPlainObject } from '../shape.js'

/** A Secret as it is in a file. */
export interface WrittenSecret {
  /** `<namespace>/<name>`. */
  readonly key: string
  readonly reading: SecretReading
  readonly texts: SecretTexts
}

/** The members of a Secret, decoded. They are in no string, JSON or inspection of the object. */
export class SecretTexts {
  readonly #data: Readonly<Record<string, string>>

  constructor(data: Readonly<Record<string, string>>) {
    this.#data = data
  }

  get(key: string): string | undefined {
    return Object.hasOwn(this.#data, key) ? this.#data[key] : undefined
  }

  equals(other: SecretTexts): boolean {
    return sameValue(this.#data, other.#data)
  }
}

/** What is known of the place of a Secret. */
export interface SecretPlace {
  readonly origin: ObjectOrigin
  readonly defaultNamespace: string
  /** Mode of the file; undefined for what is not a file. */
  readonly mode?: number
}

/** Anything at all to everybody, or writing to the group. Reading by the group is what volumes of Secrets give. */
const TOO_OPEN = 0o027

/** True for what is written down as a Secret of Kubernetes. */
export function isSecretDocument(value: unknown): value is Readonly<Record<string, unknown>> {
  return isPlainObject(value) && value.apiVersion === 'v1' && value.kind === 'Secret'
}

/** Reads a Secret. What is wrong with it is told by who needs it; of what it holds nothing is ever quoted. */
export function readSecretDocument(value: Readonly<Record<string, unknown>>, place: SecretPlace): WrittenSecret {
  const { metadata } = value
  const { name, namespace } = isPlainObject(metadata) ? metadata : {}
  const key = `${typeof namespace === 'string' ? namespace : place.defaultNamespace}/${typeof name === 'string' ? name : ''}`
  const open = tooOpen(place)
  const data = open === undefined ? dataOf(value) : {}
  return { key, reading: open ?? readClientCredential(data), texts: new SecretTexts(data) }
}

function tooOpen({ mode, origin }: SecretPlace): SecretReading | undefined {
  if (mode === undefined || (mode & TOO_OPEN) === 0 || process.platform === 'win32') return undefined
  const file = origin.kind === 'file' ? origin.file : 'its file'
  const bits = (mode & 0o777).toString(8).padStart(4, '0')
  return {
    usable: false,
    fault: `lies in ${file}, which is open to other users of the machine (mode ${bits}); make it 0600`,
  }
}

/** Decoded; `stringData` goes before `data`, as in Kubernetes. */
function dataOf({ data, stringData }: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return {
    ...textsOf(data, (text) => Buffer.from(text, 'base64').toString()),
    ...textsOf(stringData, (text) => text),
  }
}

function textsOf(value: unknown, decode: (text: string) => string): Readonly<Record<string, string>> {
  const entries = isPlainObject(value) ? Object.entries(value) : []
  return Object.fromEntries(entries.flatMap(([name, text]) => (typeof text === 'string' ? [[name, decode(text)]] : [])))
}
