export { Moto } from './moto.js'
