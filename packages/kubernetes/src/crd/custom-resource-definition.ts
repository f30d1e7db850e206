import type { KubernetesManifest } from '../api.js'
import type { Kind } from '@osm-ts/core'
import type { StructuralSchema } from './structural-schema.js'

/** A column of `kubectl get`. */
export interface PrinterColumn {
  readonly name: string
  readonly type: 'string' | 'date'
  readonly jsonPath: string
  readonly description: string
}

/** A version of a kind. */
export interface DefinedVersion {
  readonly name: string
  readonly served: boolean
  /** One version of a kind is stored; the API server relabels objects for the others. */
  readonly storage: boolean
  readonly deprecated?: true
  readonly deprecationWarning?: string
  readonly schema: { readonly openAPIV3Schema: StructuralSchema }
  readonly subresources: { readonly status: Readonly<Record<string, never>> }
  readonly additionalPrinterColumns: readonly PrinterColumn[]
}

/** What makes an API server serve a kind. */
export interface CustomResourceDefinition extends KubernetesManifest {
  readonly apiVersion: 'apiextensions.k8s.io/v1'
  readonly kind: 'CustomResourceDefinition'
  readonly spec: {
    readonly group: string
    readonly scope: 'Namespaced' | 'Cluster'
    readonly names: {
      readonly kind: Kind
      readonly listKind: string
      readonly plural: string
      readonly singular: string
      readonly shortNames?: readonly string[]
      readonly categories: readonly string[]
    }
    readonly conversion: { readonly strategy: 'None' }
    readonly versions: readonly DefinedVersion[]
  }
}
