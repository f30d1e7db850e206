/** What is used of undici. In a module of its own: a bundle in several files keeps no names of a CommonJS package that is imported late. */
export { Pool, WebSocket } from 'undici'
