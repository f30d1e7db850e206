/** An object in a namespace. */
export interface NamespacedName {
  readonly namespace: string
  readonly name: string
}

/** `<namespace>/<name>`. Neither half can hold a slash, so different names have different text. */
export function nameKey({ namespace, name }: NamespacedName): string {
  return `${namespace}/${name}`
}

/** The name that {@link nameKey} made a text of. */
export function parseNameKey(key: string): NamespacedName {
  const slash = key.indexOf('/')
  return { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}
