export { AzureStandIn } from './azure-stand-in.js'
export { networkInterface, resourceId, subscription, virtualMachine } from './fleet.js'
