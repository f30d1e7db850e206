export { azureProvider as default } from './provider.js'
