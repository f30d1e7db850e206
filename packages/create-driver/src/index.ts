export { NotScaffolded, scaffold, type ScaffoldOptions } from './scaffold.js'
