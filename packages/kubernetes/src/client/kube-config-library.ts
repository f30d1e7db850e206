/** The one class of the library that is used, in its own module: bundles then leave out the thousands of others. */
export { KubeConfig } from '@kubernetes/client-node'
