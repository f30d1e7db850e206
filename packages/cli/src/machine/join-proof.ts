import type { JoinMachineOptions } from '@osm-ts/standalone'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'
import { type InputContext, readInput } from '../spec/input-files.js'

/** Options of `osm machine join` that say by what the machine proves itself. */
export interface ProofFlags {
  readonly tokenFile?: string
  readonly serviceAccountTokenFile?: string
  readonly azure?: boolean
  readonly azureMetadata: URL
  readonly azureIssuers?: string
  readonly namespace?: string
  readonly serviceAccount?: string
  readonly rootFile?: string
}

/** Variable with the join token. */
export const TOKEN_VARIABLE = 'OSM_MACHINE_TOKEN'
const ROOT_HINT = 'print the root by osm machine root'

/** A token on the command line would be in the list of processes: it comes from a file or a variable. */
export async function readProof(context: CliContext, flags: ProofFlags): Promise<JoinMachineOptions['proof']> {
  const { tokenFile, serviceAccountTokenFile, azure = false } = flags
  if (azure) return azureProof(context, flags)
  if (serviceAccountTokenFile !== undefined) {
    const roots = await readRoots(context, flags, '--service-account-token-file')
    const hint = 'give the file that contains the token of the service account'
    return { serviceAccountToken: await readInput(serviceAccountTokenFile, context, hint), roots }
  }
  if (tokenFile === undefined) {
    const token = context.variables[TOKEN_VARIABLE] ?? ''
    return token === '' ? undefined : { token }
  }
  return { token: await readInput(tokenFile, context, 'give the file that contains the join token') }
}

async function azureProof(context: InputContext, flags: ProofFlags): Promise<JoinMachineOptions['proof']> {
  const { namespace, serviceAccount, azureMetadata, azureIssuers } = flags
  if (namespace === undefined || serviceAccount === undefined)
    throw cliError(
      'OSM_CLI_USAGE',
      '--azure needs --namespace and --service-account: a virtual machine has no identity of the mesh',
      'name the service account that permits the machine',
    )
  const roots = await readRoots(context, flags, '--azure')
  const issuers =
    azureIssuers === undefined
      ? undefined
      : await readCertificates(context, azureIssuers, 'give a file with the certificates of the issuers')
  return {
    azure: { namespace, serviceAccount },
    metadata: azureMetadata,
    ...(issuers !== undefined && { issuers }),
    roots,
  }
}

async function readRoots(context: InputContext, { rootFile }: ProofFlags, option: string): Promise<readonly string[]> {
  if (rootFile === undefined)
    throw cliError(
      'OSM_CLI_USAGE',
      `${option} needs --root-file: such a proof does not name the root of the control plane`,
      ROOT_HINT,
    )
  return readCertificates(context, rootFile, ROOT_HINT)
}

async function readCertificates(context: InputContext, file: string, hint: string): Promise<readonly string[]> {
  const { pemCertificates } = await import('@osm-ts/core')
  const found = pemCertificates(await readInput(file, context, hint))
  if (found.length > 0) return found
  throw cliError('OSM_CLI_INPUT', `${file} has no certificate in PEM`, hint)
}
