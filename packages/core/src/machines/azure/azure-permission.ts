import type { AttestedVirtualMachine } from './attested-document.js'

/**
 * Annotation of a ServiceAccount that lets virtual machines of Azure join with its identity: subscriptions, or single machines as
 * `<subscription>/<vmId>`, separated by commas.
 */
export const azureMachinesAnnotation = 'openservicemesh.io/azure-machines'

const GUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const ENTRY = new RegExp(`^(${GUID})(?:/(${GUID}))?$`)

/** The machines that an annotation permits; those of a whole subscription have no id. */
export interface PermittedVirtualMachines {
  readonly subscription: string
  readonly id?: string
}

/** Reads the annotation; undefined if one of its entries is invalid, or there is none. */
export function parseAzureMachines(text: string): readonly PermittedVirtualMachines[] | undefined {
  const entries = text.split(',').map((entry) => ENTRY.exec(entry.trim().toLowerCase()))
  const permitted = entries.flatMap((match) => {
    const [, subscription, id] = match ?? []
    return subscription === undefined ? [] : [{ subscription, ...(id !== undefined && { id }) }]
  })
  return permitted.length === entries.length ? permitted : undefined
}

/** Whether a machine is among those that are permitted. */
export function permitsVirtualMachine(
  permitted: readonly PermittedVirtualMachines[],
  { subscription, id }: AttestedVirtualMachine,
): boolean {
  return permitted.some((entry) => entry.subscription === subscription && (entry.id ?? id) === id)
}
