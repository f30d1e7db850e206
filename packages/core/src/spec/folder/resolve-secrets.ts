import type { SecretReading } from '../../secrets/client-credential.js'
import type { FileContent } from './resolve-definitions.js'
import { SecretTexts } from './secret-document.js'

/** A Secret of a folder, and where it stands. */
export interface HeldSecret {
  readonly file: string
  readonly reading: SecretReading
  readonly texts: SecretTexts
}

/**
 * The Secrets of a folder by `<namespace>/<name>`. Returns the previous map if nothing changed.
 *
 * A file that is caught in the middle of a save keeps what it held. What is written down twice is not guessed at.
 */
export function resolveSecrets(
  files: readonly FileContent[],
  before: ReadonlyMap<string, HeldSecret>,
): ReadonlyMap<string, HeldSecret> {
  const held = new Map<string, HeldSecret>()
  for (const content of files) {
    for (const [key, secret] of secretsOf(content, before)) {
      const other = held.get(key)
      const fault = `is written down more than once: in ${other?.file ?? ''} and ${content.file}`
      held.set(
        key,
        other === undefined ? secret : { ...other, reading: { usable: false, fault }, texts: new SecretTexts({}) },
      )
    }
  }
  const same = held.size === before.size && [...held].every(([key, secret]) => isSame(before.get(key), secret))
  return same ? before : held
}

function secretsOf(
  { file, definitions, fading }: FileContent,
  before: ReadonlyMap<string, HeldSecret>,
): readonly (readonly [string, HeldSecret])[] {
  if (fading || definitions.some(({ malformed }) => malformed)) return [...before].filter(([, it]) => it.file === file)
  return definitions.flatMap(({ secret }) =>
    secret === undefined ? [] : [[secret.key, { file, reading: secret.reading, texts: secret.texts }] as const],
  )
}

function isSame(before: HeldSecret | undefined, { reading, texts }: HeldSecret): boolean {
  if (before === undefined || !texts.equals(before.texts)) return false
  return (
    before.reading === reading || (!before.reading.usable && !reading.usable && before.reading.fault === reading.fault)
  )
}
