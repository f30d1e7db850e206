import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

import type { JoinMachineOptions } from '@osm-ts/standalone'

import type { CliContext } from '../cli-context.js'
import { cliError } from '../errors.js'

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
  const { cwd, stdin, variables } = context
  const { tokenFile, serviceAccountTokenFile, azure = false } = flags
  if (azure) return azureProof(cwd, flags)
  if (serviceAccountTokenFile !== undefined) {
    const roots = await readRoots(cwd, flags, '--service-account-token-file')
    const hint = 'give the file that holds the token of the service account'
    return { serviceAccountToken: readInput(cwd, serviceAccountTokenFile, hint), roots }
  }
  if (tokenFile === undefined) {
    const token = variables[TOKEN_VARIABLE] ?? ''
    return token === '' ? undefined : { token }
  }
  if (tokenFile === '-') {
    let token = ''
    for await (const piece of stdin().setEncoding('utf8')) token += String(piece)
    return { token }
  }
  return { token: readInput(cwd, tokenFile, 'give the file that holds the join token') }
}

async function azureProof(cwd: string, flags: ProofFlags): Promise<JoinMachineOptions['proof']> {
  const { namespace, serviceAccount, azureMetadata, azureIssuers } = flags
  if (namespace === undefined || serviceAccount === undefined)
    throw cliError(
      'OSM_CLI_USAGE',
      '--azure needs --namespace and --service-account: a virtual machine has no identity of the mesh',
      'name the service account that permits the machine',
    )
  const roots = await readRoots(cwd, flags, '--azure')
  const issuers =
    azureIssuers === undefined
      ? undefined
      : await readCertificates(cwd, azureIssuers, 'give a file with the certificates of the issuers')
  return {
    azure: { namespace, serviceAccount },
    metadata: azureMetadata,
    ...(issuers !== undefined && { issuers }),
    roots,
  }
}

async function readRoots(cwd: string, { rootFile }: ProofFlags, option: string): Promise<readonly string[]> {
  if (rootFile === undefined)
    throw cliError(
      'OSM_CLI_USAGE',
      `${option} needs --root-file: such a proof does not name the root of the control plane`,
      ROOT_HINT,
    )
  return readCertificates(cwd, rootFile, ROOT_HINT)
}

async function readCertificates(cwd: string, file: string, hint: string): Promise<readonly string[]> {
  const { pemCertificates } = await import('@osm-ts/core')
  const found = pemCertificates(readInput(cwd, file, hint))
  if (found.length > 0) return found
  throw cliError('OSM_CLI_INPUT', `${file} has no certificate in PEM`, hint)
}

function readInput(cwd: string, file: string, hint: string): string {
  try {
    return readFileSync(resolve(cwd, file), 'utf8')
  } catch (error) {
    throw cliError('OSM_CLI_INPUT', `${file} cannot be read`, hint, error)
  }
}
