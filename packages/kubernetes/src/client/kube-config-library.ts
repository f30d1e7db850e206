/** The one class of the library that is used, in a module of its own: bundles then leave out the thousands of others. */
export { KubeConfig } from '@kubernetes/client-node'
