import { readFile } from 'node:fs/promises'

import { ResolveFailure } from '@osm-ts/endpoints-polling'

/** A credential as clients take it. */
interface AwsCredential {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  readonly expiration: Date
}

/** Milliseconds until a file is read again. */
const keepMs = 30_000

/**
 * Reads a credential from a file in the form that a `credential_process` prints.
 *
 * @throws ResolveFailure with code AccessDenied if the file cannot be read or is in another form; its content is not repeated
 */
export async function readCredential(file: string): Promise<AwsCredential> {
  let parsed: unknown
  try {
    parsed = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read'
    throw new ResolveFailure('AccessDenied', `credentialFile ${file} ${reason}`)
  }
  const members = (typeof parsed === 'object' && parsed !== null ? parsed : {}) as Readonly<Record<string, unknown>>
  const { AccessKeyId, SecretAccessKey, SessionToken } = members
  if (typeof AccessKeyId !== 'string' || typeof SecretAccessKey !== 'string') {
    throw new ResolveFailure('AccessDenied', `credentialFile ${file} has no AccessKeyId and SecretAccessKey`)
  }
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    ...(typeof SessionToken === 'string' ? { sessionToken: SessionToken } : {}),
    // Clients ask again when it has passed.
    expiration: new Date(Date.now() + keepMs),
  }
}
