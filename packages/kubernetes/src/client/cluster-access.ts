/** Options of TLS towards the API server. */
export interface ClusterTls {
  readonly ca?: string | Buffer
  readonly cert?: string | Buffer
  readonly key?: string | Buffer
  readonly servername?: string
  readonly rejectUnauthorized?: boolean
}

/** What a request to the API server needs beside its path. Secret. */
export interface ClusterCredentials {
  /** `authorization` and the like. */
  readonly headers: Readonly<Record<string, string>>
  readonly tls: ClusterTls
}

/** Where an API server is, and with which credentials it is asked. */
export interface ClusterAccess {
  /** URL without its own path, or with one that all requests begin with. */
  readonly server: string
  /**
   * Credentials as they are now.
   *
   * @param rejected - true if those of the last call were refused: everything is read again
   * @throws KubernetesError with code `OSM_KUBERNETES_CREDENTIALS`
   */
  credentials(rejected: boolean): Promise<ClusterCredentials>
}
