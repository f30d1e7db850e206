import { OsmError } from '@osm-ts/driver-api'

/** Codes of errors of the command line. */
export const cliErrorCodes = {
  OSM_CLI_USAGE: 'the command line is invalid: an unknown command or option, or an invalid option value',
  OSM_CLI_FOLDER: 'the folder of the mesh specification does not exist or is not a folder',
  OSM_CLI_MESH_MISSING: 'no running mesh was found, or the recorded mesh has stopped',
  OSM_CLI_UNREACHABLE: 'the controller or a sidecar of the mesh did not respond',
  OSM_CLI_ANSWER: 'the controller or a sidecar sent a response that this version of osm does not support',
  OSM_CLI_INSTANCE: 'the name matches no instance of the mesh or several, or the pod has no sidecar or is not running',
  OSM_CLI_SIDECAR_MISSING: 'the executable of a sidecar was not found',
  OSM_CLI_SIDECAR_OLD: 'the executable of a sidecar is too old for the mesh, or is another program',
  OSM_CLI_PROGRAM_MISSING: 'the controller executable, which is shipped with osm, was not found',
  OSM_CLI_NOT_READY: 'a sidecar of a started mesh did not apply its configuration in time',
  OSM_CLI_INPUT: 'an input file cannot be read, or does not contain Kubernetes objects',
  OSM_CLI_NOT_FOUND: 'the service, service account or workload does not exist in the mesh specification',
  OSM_CLI_CONFIG: 'the settings file named by OSM_CONFIG cannot be read or is invalid',
  OSM_CLI_HELM_MISSING: 'the helm executable was not found',
  OSM_CLI_HELM_OLD: 'the helm executable is too old, or is another program',
  OSM_CLI_HELM: 'helm failed; the message is from helm',
  OSM_CLI_CHART: 'the chart of the control plane was not found',
  OSM_CLI_OBSTACLE: 'the cluster does not allow the installation of the mesh; nothing was changed',
  OSM_CLI_MANAGED:
    'the mesh is managed by its provider, according to the settings file; only the provider can install, upgrade and uninstall it',
  OSM_CLI_UNCONFIRMED: 'a command that deletes objects was not confirmed and cannot ask for confirmation',
  OSM_CLI_LEFTOVER: 'some objects could not be deleted',
  OSM_CLI_MACHINES:
    'machines cannot join the mesh: no address or port is configured for them, or no controller is ready',
  OSM_CLI_ERROR_CODE: 'the requested error code does not exist in this version',
  OSM_CLI_OUTPUT: 'the output file of a command cannot be written',
  OSM_CLI_NAMESPACE:
    'the operation is not possible for the namespace: it does not exist, is ignored, belongs to no mesh or to another mesh, or contains a control plane',
  OSM_CLI_MIGRATION: 'the namespace cannot be migrated to another sidecar class; nothing was changed',
  OSM_CLI_MIGRATION_STOPPED:
    'a migration to another sidecar class stopped; see the message for the reason and the output for the state of each workload',
  OSM_CLI_ROTATION: 'the root of workload certificates cannot be changed; nothing was changed',
  OSM_CLI_ROTATION_STOPPED:
    'a change of the root of workload certificates stopped or did not finish in time; see the message for the reason',
  OSM_CLI_DASHBOARD_PORT: 'the page of osm dashboard cannot be served on the port',
  OSM_CLI_DASHBOARD_CERTIFICATE:
    'osm-dashboard has no certificate: the roots of the control plane are unknown, or no controller has issued a certificate',
  OSM_CLI_ADD_ON_MISSING: 'no pod of the requested add-on is ready',
  OSM_CLI_DASHBOARD_BUSY: 'osm dashboard has reached its limit of pending queries',
  OSM_CLI_ROLLBACK: 'sidecars no longer trust the previous root; returning to it would interrupt traffic',
  OSM_CLI_ROUTE_ORDER: 'the matches of TrafficSplits apply in a different order in an HTTPRoute',
  OSM_CLI_ROUTE_REFERENCE:
    'a TrafficSplit refers to a Service, port or HTTPRouteGroup that does not exist; the HTTPRoute omits it',
  OSM_CLI_ROUTE_TAKEN:
    'a route of the Gateway API is already attached to the Service port of a TrafficSplit and takes precedence',
  OSM_CLI_ROUTE_LIMIT: 'the TrafficSplits of a Service cannot be expressed as an HTTPRoute or a TCPRoute',
  OSM_CLI_SPLIT_PARENT: 'a route of the Gateway API is attached to an object or port that TrafficSplits do not support',
  OSM_CLI_SPLIT_RULE: 'a rule of an HTTPRoute cannot be expressed as a TrafficSplit; its requests are omitted',
  OSM_CLI_SPLIT_UNMATCHED:
    'an HTTPRoute has no rule for all requests; requests that it answers with 404 go to the Service with TrafficSplits',
} as const

/** A code of {@link cliErrorCodes}. */
export type CliErrorCode = keyof typeof cliErrorCodes

/** An error with a hint: what to do about it. */
export function cliError(code: CliErrorCode, message: string, hint: string, cause?: unknown): OsmError<CliErrorCode> {
  return new OsmError(code, message, { cause, details: { hint } })
}
