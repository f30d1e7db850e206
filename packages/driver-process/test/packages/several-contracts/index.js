// A driver that also supports a contract newer than any host has, and declares a feature of it. It tells which contract is in use.
import failing from '../failing/index.js'

export default () => {
  const { capabilities, patch, start, ...driver } = failing()
  return {
    ...driver,
    contract: { min: 1, max: 99 },
    capabilities: { ...capabilities, features: ['retries', 'teleportation'], gravity: 'low' },
    patch: async (context) => ({
      ...(await patch(context)),
      annotations: { 'failing.sidecar.openservicemesh.io/contract': String(context.contract) },
    }),
    start: async (context) => {
      context.logger.info({ contract: context.contract }, 'contract in use')
      return start(context)
    },
  }
}
