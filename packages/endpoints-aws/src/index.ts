export { awsProvider as default } from './provider.js'
