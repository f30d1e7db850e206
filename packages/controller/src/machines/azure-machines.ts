import type { X509Certificate } from 'node:crypto'

import {
  azureMachinesAnnotation,
  type AttestedVirtualMachine,
  type JoinRequest,
  type MachineErrorCode,
  newProxyUUID,
  parseAzureMachines,
  permitsVirtualMachine,
  type Redeemed,
  type Snapshot,
  verifyAttestedDocument,
} from '@osm-ts/core'
import { OsmError, type ServiceAccountRef } from '@osm-ts/driver-api'

import { accountOf, labelsOfAccount, MAX_BY_ACCOUNTS } from './account-permission.js'
import { machineRefusals, type Machines } from './machine.js'

/** What documents of Azure are checked by. */
export interface AzureMachinesOptions {
  /** The service accounts of the mesh. */
  readonly current: () => Snapshot | undefined
  readonly machines: Pick<Machines, 'countOf' | 'ofVirtualMachine'>
  readonly roots: readonly X509Certificate[]
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/** A document of Azure, and the identity that its machine wants. */
export type AzureProof = Extract<JoinRequest['proof'], { kind: 'azure' }>

/**
 * Admits virtual machines by documents that the metadata service of Azure signs. The service account says which machines may have its identity, and with which
 * labels.
 *
 * A document is bound to one connection and one key, so that a copy is of no use. Any process of a virtual machine can ask for one: while the machine takes part,
 * it cannot join with another key.
 */
export class AzureMachines {
  readonly #options: AzureMachinesOptions

  constructor(options: AzureMachinesOptions) {
    this.#options = options
  }

  /**
   * @param key - hash of the public key, whose owner has proven to hold it
   * @param nonce - what the document has to repeat
   * @throws OsmError with code `OSM_MACHINE_AZURE*`, `OSM_MACHINE_ACCOUNT`, `OSM_MACHINE_TWICE` or `OSM_MACHINE_LIMIT`
   */
  async redeem(proof: AzureProof, key: string, nonce: string): Promise<Redeemed> {
    const { machines, roots, now } = this.#options
    const { namespace, serviceAccount } = proof
    const found = verifyAttestedDocument(proof, { roots, nonce, now: now() })
    const labels = this.#permitted({ namespace, name: serviceAccount }, found)
    const granted = { namespace, serviceAccount, labels, virtualMachine: { id: found.id, key } }
    const before = await machines.ofVirtualMachine(found.id)
    // It has lost the answer, and asks again.
    if (
      before?.virtualMachine?.key === key &&
      before.namespace === namespace &&
      before.serviceAccount === serviceAccount
    )
      return { ...granted, uuid: before.uuid }
    if (before?.ready === true) throw machineRefusals.virtualMachineTwice(before)
    if (before === undefined && machines.countOf(namespace) >= MAX_BY_ACCOUNTS)
      throw machineRefusals.limitOf(namespace, MAX_BY_ACCOUNTS)
    // What it had joined with before is gone with its state folder, or has expired.
    return { ...granted, uuid: newProxyUUID(), ...(before !== undefined && { replaces: before.uuid }) }
  }

  #permitted(account: ServiceAccountRef, found: AttestedVirtualMachine): Readonly<Record<string, string>> {
    const object = accountOf(this.#options.current(), account)
    const text = object.metadata.annotations[azureMachinesAnnotation]
    const permitted = text === undefined ? undefined : parseAzureMachines(text)
    const place = { namespace: account.namespace, serviceAccount: account.name }
    if (permitted === undefined)
      throw machineRefusals.notPermitted(
        place,
        azureMachinesAnnotation,
        text === undefined
          ? 'it has no such annotation'
          : 'expected subscriptions, or machines as <subscription>/<vmId>, separated by commas',
      )
    if (!permitsVirtualMachine(permitted, found))
      throw new OsmError<MachineErrorCode>(
        'OSM_MACHINE_AZURE_VM',
        `ServiceAccount ${account.namespace}/${account.name} does not permit the virtual machine ${found.subscription}/${found.id} by its annotation ${azureMachinesAnnotation}`,
      )
    return labelsOfAccount(object)
  }
}
