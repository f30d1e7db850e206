import { deployment, service } from './workloads.js'

/** Where what nginx serves with TLS to the mesh has its Secret. */
const certificateFolder = '/etc/nginx/certificate'
/** How often a kubelet asks. */
const readiness = { periodSeconds: 1, failureThreshold: 60 }

/** One backend, and how nginx speaks to it. */
export interface NginxBackend {
  /** First part of the paths that lead to it, such as `/store`; the backend sees them without it. */
  readonly path: string
  /** `host:port` */
  readonly target: string
  /** Absent: in plaintext. */
  readonly tls?: {
    /** The name that nginx asks for, and that the certificate of the backend must have. */
    readonly serverName: string
    /** True: nginx shows the certificate of the Secret. */
    readonly withCertificate: boolean
  }
}

/** A gateway. */
export interface NginxOptions {
  readonly name: string
  readonly namespace: string
  /** Reference of the image `nginx`. */
  readonly image: string
  readonly backends: readonly NginxBackend[]
  /** Secret with `tls.crt`, `tls.key` and `ca.crt`. Pods wait until it is there. */
  readonly secret: string
}

/** Port on which gateways listen. */
export const gatewayPort = 8000

/** A real nginx as an ingress gateway: a Deployment, and a Service of the same name. */
export function nginxGateway({ name, namespace, image, backends, secret }: NginxOptions): readonly object[] {
  const volumes = [
    { name: 'configuration', configMap: { name } },
    { name: 'certificate', secret: { secretName: secret } },
  ]
  const container = {
    args: ['-e', 'stderr', '-c', '/etc/nginx/nginx.conf'],
    ports: [{ containerPort: gatewayPort }],
    volumeMounts: [
      { name: 'configuration', mountPath: '/etc/nginx/nginx.conf', subPath: 'nginx.conf' },
      { name: 'certificate', mountPath: certificateFolder },
    ],
    readinessProbe: { httpGet: { path: '/alive', port: gatewayPort }, ...readiness },
  }
  return [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace },
      data: { 'nginx.conf': configuration(backends) },
    },
    ...deployment({ name, namespace, image, container, spec: { volumes } }),
    service({ name, namespace, ports: [{ port: gatewayPort }] }),
  ]
}

/** Everything that nginx writes goes to standard output or to /tmp, since it does not run as root. */
function configuration(backends: readonly NginxBackend[]): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path /tmp/${of};`)
  return `daemon off;
pid /tmp/nginx.pid;
worker_processes 1;
events {}
http {
  ${temporary.join('\n  ')}
  access_log /dev/stdout;
  server {
    listen ${gatewayPort};
    proxy_http_version 1.1;
    location = /alive { return 200; }
${backends.map(location).join('')}  }
}
`
}

function location({ path, target, tls }: NginxBackend): string {
  const scheme = tls === undefined ? 'http' : 'https'
  return `    location ${path}/ {
      proxy_pass ${scheme}://${target}/;
${tls === undefined ? '' : transport(tls)}    }
`
}

function transport({ serverName, withCertificate }: NonNullable<NginxBackend['tls']>): string {
  const own = `      proxy_ssl_certificate ${certificateFolder}/tls.crt;
      proxy_ssl_certificate_key ${certificateFolder}/tls.key;
`
  return `      proxy_ssl_server_name on;
      proxy_ssl_name ${serverName};
      proxy_ssl_trusted_certificate ${certificateFolder}/ca.crt;
      proxy_ssl_verify on;
      proxy_ssl_session_reuse off;
${withCertificate ? own : ''}`
}
