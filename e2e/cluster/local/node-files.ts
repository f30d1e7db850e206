import { type AddressPlan, type NodePlan, ofFamilies } from './address-plan.js'

/** Where a machine finds its configuration; see {@link machineFolders}. */
export const configurationFolder = '/var/lib/osm-cluster'

const runtimeSocket = '/var/lib/containerd/containerd.sock'

/** What the files of a node depend on. */
export interface NodeFileOptions {
  readonly plan: AddressPlan
  readonly node: NodePlan
  /** Control group of the cluster. */
  readonly cgroup: string
  readonly pauseImage: string
  /** Folder of the CNI plug-ins. */
  readonly plugins: string
}

/** The configuration of a node, by file name. */
export function nodeFiles(options: NodeFileOptions): Readonly<Record<string, string>> {
  return {
    'kubelet.json': json(kubelet(options)),
    'kube-proxy.json': json(kubeProxy(options)),
    'containerd.toml': containerd(options),
    'cni/10-osm-cluster.conflist': json(podNetwork(options)),
    // Pods that do not request the DNS of the cluster, and those in the network of their node, get it all the same: there is no other.
    'resolv.conf': `nameserver ${options.plan.dnsService}\n`,
  }
}

function kubelet({ plan, node, cgroup }: NodeFileOptions): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: `${configurationFolder}/ca.crt` },
    },
    authorization: { mode: 'Webhook' },
    tlsCertFile: `${configurationFolder}/kubelet.crt`,
    tlsPrivateKeyFile: `${configurationFolder}/kubelet.key`,
    containerRuntimeEndpoint: `unix://${runtimeSocket}`,
    clusterDomain: 'cluster.local',
    clusterDNS: [plan.dnsService],
    resolvConf: `${configurationFolder}/resolv.conf`,
    // Nodes share the control groups of one machine: no systemd of their own could make these.
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}/${node.name}`,
    featureGates: { PodCertificateRequest: true },
    failCgroupV1: false,
    failSwapOn: false,
    // The default is a folder below /usr, which nodes share with this machine.
    volumePluginDir: '/var/lib/kubelet/volume-plugins',
    serializeImagePulls: false,
    // The disk is that of this machine. How full others keep it is no reason to evict pods, and evicted images would not be restored.
    evictionHard: {
      'memory.available': '100Mi',
      'nodefs.available': '1%',
      'imagefs.available': '1%',
      'nodefs.inodesFree': '1%',
    },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
  }
}

function kubeProxy({ plan, node }: NodeFileOptions): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    clientConnection: { kubeconfig: `${configurationFolder}/kube-proxy.kubeconfig` },
    hostnameOverride: node.name,
    mode: 'iptables',
    // What does not come from a pod, such as a call of the API server to a webhook, gets the node's address, so that the answer returns
    // through the node that translated it.
    clusterCIDR: ofFamilies(plan.pods, plan.ipv6?.pods),
    detectLocalMode: 'ClusterCIDR',
    // Limits of connection tracking are those of the whole machine; nodes leave them alone.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    iptables: { localhostNodePorts: false },
  }
}

function podNetwork({ node }: NodeFileOptions): object {
  return {
    cniVersion: '0.4.0',
    name: 'osm-cluster',
    plugins: [
      {
        // Routed pairs of links: they need no bridge, which not every kernel has.
        type: 'ptp',
        ipMasq: false,
        ipam: {
          type: 'host-local',
          ranges: [node.pods, ...(node.ipv6 === undefined ? [] : [node.ipv6.pods])].map((subnet) => [{ subnet }]),
          // Pods have a default route, as anywhere; nodes have none, so that nothing gets past them.
          routes: ['0.0.0.0/0', ...(node.ipv6 === undefined ? [] : ['::/0'])].map((dst) => ({ dst })),
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  }
}

/** They only complain of what the machine lacks. */
const unusedSnapshotters = ['aufs', 'btrfs', 'devmapper', 'zfs'].map((name) => `io.containerd.snapshotter.v1.${name}`)

function containerd({ pauseImage, plugins }: NodeFileOptions): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"'
  return `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ${JSON.stringify(unusedSnapshotters)}

[grpc]
  address = "${runtimeSocket}"

[${cri}]
  sandbox_image = "${pauseImage}"
  # Without CAP_SYS_RESOURCE every sandbox would die when its score is lowered.
  restrict_oom_score_adj = true

[${cri}.cni]
  bin_dir = "${plugins}"
  conf_dir = "${configurationFolder}/cni"

[${cri}.containerd]
  default_runtime_name = "runc"
  snapshotter = "overlayfs"

[${cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[${cri}.containerd.runtimes.runc.options]
  SystemdCgroup = false
`
}

function json(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}
