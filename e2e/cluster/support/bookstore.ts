import { readdirSync, readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'

const demo = new URL('../../../examples/bookstore/mesh/', import.meta.url)
const manifests = new URL('../bookstore/', import.meta.url)
/** What stands for the image of the test application. */
const imageName = 'test-app'
/** Kinds of the demo for which a cluster has something else. */
const replaced = ['MeshConfig', 'Namespace', 'Workload']

/** An object of the bookstore. */
export interface BookstoreObject {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec: Readonly<Record<string, unknown>>
}

/** Accounts, Services and policies of `npm run demo`, as its files have them. */
export function demoObjects(namespaces: readonly string[]): readonly BookstoreObject[] {
  return readdirSync(demo)
    .sort()
    .flatMap((file) => documents(readFileSync(new URL(file, demo), 'utf8')))
    .filter(({ kind, metadata }) => !replaced.includes(kind) && namespaces.includes(metadata.namespace))
}

/** The objects of one file of `e2e/cluster/bookstore`. */
export function bookstoreObjects(file: string, image: string): readonly BookstoreObject[] {
  return documents(readFileSync(new URL(file, manifests), 'utf8'), image)
}

function documents(text: string, image?: string): readonly BookstoreObject[] {
  const withImage = (_key: unknown, value: unknown): unknown =>
    isContainer(value) && value.image === imageName ? { ...value, image, imagePullPolicy: 'IfNotPresent' } : value
  return parseAllDocuments(text).map((document) => document.toJS({ reviver: withImage }) as BookstoreObject)
}

function isContainer(value: unknown): value is { readonly image: unknown } {
  return typeof value === 'object' && value !== null && 'image' in value
}
