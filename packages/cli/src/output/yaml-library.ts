/** What is used of yaml. In its own module: a bundle in several files keeps no names of a CommonJS package that is imported late. */
export { Document, parse, parseAllDocuments, stringify, visit } from 'yaml'
