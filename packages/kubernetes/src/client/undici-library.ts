/** What is used of undici. In its own module: a bundle in several files keeps no names of a CommonJS package that is imported late. */
export { Pool, WebSocket } from 'undici'
