import { connectKubernetes, type KubernetesApi } from '@osm-ts/kubernetes'
import type { ProgramContext } from './run-program.js'

/** Connects a program to the API server that its flags and environment name. */
export function connectProgram(
  name: string,
  {
    flags: { kubeconfig, osmVersion = '' },
    environment,
  }: Pick<ProgramContext<{ readonly kubeconfig: string; readonly osmVersion?: string }>, 'flags' | 'environment'>,
): Promise<KubernetesApi> {
  return connectKubernetes({
    ...(kubeconfig !== '' && { kubeconfig }),
    userAgent: osmVersion === '' ? name : `${name}/${osmVersion}`,
    environment,
  })
}
