import { type CertificateProvider, rootFingerprint, type StagedProvider, type TrustState } from '@osm-ts/core'

import type { ProviderChoice, ProviderChoices } from './provider-choice.js'

/** Providers that are open. */
export interface ProvidersByChoice {
  find(choice: ProviderChoice): CertificateProvider | undefined
}

/** Why the providers that are chosen are not those in force. */
export interface RotationFault {
  readonly code: string
  readonly message: string
}

/** How far this controller is in a change of the provider: what the leader and people are told. */
export class RotationView {
  /** Choices in force, or that are to be; undefined: not all of them could be opened. */
  choices: ProviderChoices | undefined
  fault: RotationFault | undefined
  /** True while other choices than {@link choices} were made, and are not in force yet. */
  isPending = false
  readonly #workload: Pick<StagedProvider, 'trustState'>
  readonly #opened: ProvidersByChoice

  constructor(
    workload: Pick<StagedProvider, 'trustState'>,
    opened: ProvidersByChoice,
    choices: ProviderChoices | undefined,
  ) {
    this.#workload = workload
    this.#opened = opened
    this.choices = choices
  }

  trustState(): TrustState {
    return this.#workload.trustState()
  }

  /** Fingerprints of the roots that MeshRootCertificates stand for, by the name of the object. */
  roots(): ReadonlyMap<string, string> {
    const { active, passive = [], names } = this.choices ?? {}
    const named = [
      [names?.active, active] as const,
      ...passive.map((choice, at) => [names?.passive[at], choice] as const),
    ]
    return new Map(
      named.flatMap(([name, choice]) => {
        const provider = choice && this.#opened.find(choice)
        return name === undefined || provider === undefined ? [] : [[name, rootFingerprint(provider)] as const]
      }),
    )
  }
}
