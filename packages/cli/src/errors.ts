import { OsmError } from '@osm-ts/driver-api'

/** Codes of errors of the command line, with the meaning of each. */
export const cliErrorCodes = {
  OSM_CLI_USAGE: 'the command line itself is wrong: an unknown command or option, or a value that none takes',
  OSM_CLI_FOLDER: 'the folder of the mesh specification does not exist or is no folder',
  OSM_CLI_MESH_MISSING: 'no running mesh was found, or the one that was recorded has ended',
  OSM_CLI_UNREACHABLE: 'the controller or a sidecar of the mesh did not answer',
  OSM_CLI_ANSWER: 'the controller or a sidecar answered something that this version of osm does not understand',
  OSM_CLI_INSTANCE:
    'the name stands for no instance of the mesh, or for several; or for a pod that has no sidecar or does not run',
  OSM_CLI_SIDECAR_MISSING: 'the program of a sidecar was not found',
  OSM_CLI_SIDECAR_OLD: 'the program of a sidecar is too old for what the mesh asks of it, or is another program',
  OSM_CLI_PROGRAM_MISSING: 'the program of the controller, which is shipped beside osm, was not found',
  OSM_CLI_NOT_READY: 'a mesh was started, and not every sidecar had applied its configuration in time',
  OSM_CLI_INPUT: 'a file that a command was given cannot be read, or holds no Kubernetes objects',
  OSM_CLI_NOT_FOUND: 'the service, service account or workload does not exist in the mesh specification',
  OSM_CLI_CONFIG: 'the file of settings, which OSM_CONFIG names, cannot be read or says something else than it may',
  OSM_CLI_HELM_MISSING: 'helm, by which control planes are installed, was not found',
  OSM_CLI_HELM_OLD: 'the program that was found as helm is too old, or is another program',
  OSM_CLI_HELM: 'helm did not do what it was asked for; the message is its own',
  OSM_CLI_CHART: 'the chart of the control plane was not found',
  OSM_CLI_OBSTACLE: 'something in the cluster keeps a mesh from being installed; nothing was changed',
  OSM_CLI_MANAGED:
    'the file of settings says that somebody else manages the mesh, who alone installs, upgrades and uninstalls it',
  OSM_CLI_UNCONFIRMED: 'a command that takes something away was not confirmed, and could not ask',
  OSM_CLI_LEFTOVER: 'not everything that was to be deleted could be deleted',
  OSM_CLI_ERROR_CODE: 'no error of this version has the code that was asked about',
  OSM_CLI_OUTPUT: 'a file that a command was to write cannot be written',
  OSM_CLI_NAMESPACE:
    'a namespace cannot do what is asked of it: it does not exist, is ignored, is of no mesh or of another one, or holds a control plane',
  OSM_CLI_MIGRATION: 'something keeps a namespace from being migrated to another sidecar class; nothing was changed',
  OSM_CLI_MIGRATION_STOPPED:
    'a migration to another sidecar class stopped; the message says why, and the output where each workload stands',
} as const

/** A code of {@link cliErrorCodes}. */
export type CliErrorCode = keyof typeof cliErrorCodes

/** An error with a hint: what to do about it. */
export function cliError(code: CliErrorCode, message: string, hint: string, cause?: unknown): OsmError<CliErrorCode> {
  return new OsmError(code, message, { cause, details: { hint } })
}
