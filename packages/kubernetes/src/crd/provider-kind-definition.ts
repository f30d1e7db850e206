import type { ResourceStore } from '@osm-ts/core'

import type { KubernetesManifest } from '../api.js'
import { resourceStatusSchema } from './status-schema.js'

type ProviderKind = Parameters<ResourceStore['open']>[0][number]

/** What makes an API server serve a kind of an endpoints provider. */
export function providerKindDefinition({ group, version, kind, plural, specSchema }: ProviderKind): KubernetesManifest {
  const column = (
    name: string,
    type: 'string' | 'integer' | 'date',
    jsonPath: string,
    description: string,
  ): object => ({
    name,
    type,
    jsonPath,
    description,
  })
  const condition = (type: string, member: string): string => `.status.conditions[?(@.type=="${type}")].${member}`
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      labels: { 'app.kubernetes.io/name': 'openservicemesh.io' },
      // With the definition an API server deletes all objects of the kind.
      annotations: { 'helm.sh/resource-policy': 'keep' },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase(), categories: ['osm'] },
      conversion: { strategy: 'None' },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              required: ['spec'],
              properties: { spec: specSchema, status: resourceStatusSchema() },
            },
          },
          subresources: { status: {} },
          additionalPrinterColumns: [
            column('Service', 'string', '.spec.service', 'Service whose endpoints the instances are.'),
            column('Instances', 'integer', '.status.instances', 'Instances that the object selects.'),
            column('Accepted', 'string', condition('Accepted', 'status'), 'Whether the object is valid and in use.'),
            column('Resolved', 'string', condition('Resolved', 'reason'), 'Whether everything was found, or why not.'),
            column('Stale', 'string', condition('Stale', 'status'), 'Whether the last good answer is in force.'),
            column('Age', 'date', '.metadata.creationTimestamp', 'Time since the object was created.'),
          ],
        },
      ],
    },
  }
}
