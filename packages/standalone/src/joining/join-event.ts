/** Something that happened to a machine. */
export type JoinEvent =
  /** It has a certificate: a new one, or the one that it had. */
  | { readonly type: 'joined'; readonly name: string; readonly identity: string; readonly isNew: boolean }
  | {
      readonly type: 'sidecar'
      readonly state: 'started' | 'ready' | 'exited'
      readonly pid?: number
      readonly detail?: string
    }
  /** The control plane knows whether it is ready; these variables tell a workload how to reach others. */
  | { readonly type: 'reported'; readonly ready: boolean; readonly variables: Readonly<Record<string, string>> }
  | { readonly type: 'renewed' }
  | { readonly type: 'problem'; readonly message: string }
