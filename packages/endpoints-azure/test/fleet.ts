/** The subscription of tests. */
export const subscription = '11111111-2222-4333-8444-555555555555'

/** ID of a resource in resource group `mesh-rg`. */
export function resourceId(type: string, name: string, group = 'mesh-rg'): string {
  return `/subscriptions/${subscription}/resourceGroups/${group}/providers/${type}/${name}`
}

/** A virtual machine with one network interface. */
export function virtualMachine(
  name: string,
  {
    state = 'running',
    tags = {},
    zone = '1',
    scaleSet,
  }: {
    readonly state?: string
    readonly tags?: Readonly<Record<string, string>>
    readonly zone?: string
    readonly scaleSet?: string
  } = {},
): object {
  return {
    id: resourceId('Microsoft.Compute/virtualMachines', name),
    name,
    location: 'westeurope',
    zones: [zone],
    tags,
    properties: {
      networkProfile: { networkInterfaces: [{ id: resourceId('Microsoft.Network/networkInterfaces', `${name}-nic`) }] },
      instanceView: { statuses: [{ code: 'ProvisioningState/succeeded' }, { code: `PowerState/${state}` }] },
      ...(scaleSet === undefined ? {} : { virtualMachineScaleSet: { id: scaleSet } }),
    },
  }
}

/** The network interface of a virtual machine. */
export function networkInterface(machine: string, ...addresses: readonly string[]): object {
  const id = resourceId('Microsoft.Network/networkInterfaces', `${machine}-nic`)
  return { id, name: `${machine}-nic`, properties: { ipConfigurations: ipConfigurations(addresses) } }
}

/** An instance of a scale set. */
export function scaleSetInstance(set: string, number: number, state = 'running'): object {
  return {
    id: `${set}/virtualMachines/${number}`,
    instanceId: String(number),
    name: `set_${number}`,
    location: 'westeurope',
    zones: ['2'],
    properties: {
      networkProfile: {
        networkInterfaces: [
          { id: `${set}/virtualMachines/${number}/networkInterfaces/nic`, properties: { primary: true } },
        ],
      },
      instanceView: { statuses: [{ code: `PowerState/${state}` }] },
    },
  }
}

/** The network interface of an instance of a scale set. */
export function scaleSetInterface(set: string, number: number, ...addresses: readonly string[]): object {
  return {
    id: `${set}/virtualMachines/${number}/networkInterfaces/nic`,
    name: 'nic',
    properties: { primary: true, ipConfigurations: ipConfigurations(addresses) },
  }
}

function ipConfigurations(addresses: readonly string[]): readonly object[] {
  // The primary one last: order means nothing to Azure.
  return addresses
    .map((privateIPAddress, index) => ({
      name: `ipconfig${index}`,
      properties: { primary: index === 0, privateIPAddress },
    }))
    .reverse()
}
