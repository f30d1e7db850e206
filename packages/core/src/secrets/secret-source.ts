import type { Credential } from '@osm-ts/driver-api'

/** Namespace and name of a Secret. */
export interface SecretName {
  readonly namespace: string
  readonly name: string
}

/** Whether the Secrets that policies name can be used, by `<namespace>/<name>`. Holds nothing of what is in them. */
export type SecretStates = ReadonlyMap<string, SecretState>

/** Whether a Secret can be used. */
export type SecretState = { readonly usable: true } | { readonly usable: false; readonly fault: string }

/** Secrets that policies name. No others are read, and of those nothing is kept but what a sidecar shows. */
export interface SecretSource {
  /** Names those that are needed, in place of those that were. */
  follow(names: readonly SecretName[]): void
  /** What is known of those that are followed. */
  states(): SecretStates
  /** What is in one of them now; undefined if it can't be used. Secret. */
  credential(name: SecretName): Credential | undefined
  /** Calls the listener whenever one of them has changed, or is known for the first time. The result ends it. */
  subscribe(listener: () => void): () => void
  /** Resolves when there has been an answer for each that is followed now, or when it has taken too long. */
  settled(signal: AbortSignal): Promise<void>
}
