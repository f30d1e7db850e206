import { ResourceDiffer } from '../../src/resources/resource-differ.js'
import { resourcesNamedBy } from '../../src/server/state/named-resources.js'
import { DeltaState } from '../../src/server/state/delta-state.js'
import type { Push } from '../../src/server/state/push.js'
import type { DeltaRequest, StateOfTheWorldRequest } from '../../src/server/state/request-codec.js'
import { StateOfTheWorldState } from '../../src/server/state/sotw-state.js'
import type { StreamStateOptions } from '../../src/server/state/variant-state.js'
import type { XdsType } from '../../src/server/xds-types.js'
import { pushOrder, typeUrls } from '../../src/server/xds-types.js'
import { textOf } from './resources.js'

const differ = new ResourceDiffer()
const options: StreamStateOptions = {
  types: pushOrder,
  wildcardTypes: ['cluster', 'listener'],
  tag: 'test',
  resourcesNamedBy,
  diff: (before, after) => differ.diff(before, after),
}

export function deltaState(overrides: Partial<StreamStateOptions> = {}): DeltaState {
  return new DeltaState({ ...options, ...overrides })
}

export function stateOfTheWorld(overrides: Partial<StreamStateOptions> = {}): StateOfTheWorldState {
  return new StateOfTheWorldState({ ...options, ...overrides })
}

export function delta(type: XdsType, fields: Partial<DeltaRequest> = {}): DeltaRequest {
  return {
    typeUrl: typeUrls[type],
    subscribe: [],
    unsubscribe: [],
    initialVersions: new Map(),
    responseNonce: '',
    ...fields,
  }
}

export function sotw(type: XdsType, fields: Partial<StateOfTheWorldRequest> = {}): StateOfTheWorldRequest {
  return { typeUrl: typeUrls[type], versionInfo: '', resourceNames: [], responseNonce: '', ...fields }
}

/** A response in words: `cluster a=1 b=2 -c`. */
export function inWords(push: Push): string {
  const resources = push.resources.map((resource) => `${resource.name}=${textOf(resource)}`)
  const removed = push.removed.map((name) => `-${name}`)
  return [push.type, ...[...resources, ...removed].sort()].join(' ')
}

/** Everything that is due now. */
export function drain(state: { next(): Push | undefined }): readonly Push[] {
  const pushes: Push[] = []
  for (let push = state.next(); push !== undefined; push = state.next()) pushes.push(push)
  return pushes
}
