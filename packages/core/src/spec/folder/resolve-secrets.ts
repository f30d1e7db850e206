import type { SecretReading } from '../../secrets/client-credential.js'
import type { FileContent } from './resolve-definitions.js'

/** A Secret of a folder, and where it stands. */
export interface HeldSecret {
  readonly file: string
  readonly reading: SecretReading
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
      held.set(key, other === undefined ? secret : { file: other.file, reading: { usable: false, fault } })
    }
  }
  const same =
    held.size === before.size && [...held].every(([key, { reading }]) => isSame(before.get(key)?.reading, reading))
  return same ? before : held
}

function secretsOf(
  { file, definitions, fading }: FileContent,
  before: ReadonlyMap<string, HeldSecret>,
): readonly (readonly [string, HeldSecret])[] {
  if (fading || definitions.some(({ malformed }) => malformed)) return [...before].filter(([, it]) => it.file === file)
  return definitions.flatMap(({ secret }) =>
    secret === undefined ? [] : [[secret.key, { file, reading: secret.reading }] as const],
  )
}

function isSame(a: SecretReading | undefined, b: SecretReading): boolean {
  return a === b || (a?.usable === false && !b.usable && a.fault === b.fault)
}
