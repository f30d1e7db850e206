const PREFIX = 'sidecar-bootstrap-config-'

/** Name of the Secret with the files of one sidecar. */
export function bootstrapSecretName(uuid: string): string {
  return `${PREFIX}${uuid}`
}

/** The uuid in the name of such a Secret. */
export function uuidOfSecret(name: string): string | undefined {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : undefined
}
