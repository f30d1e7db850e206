import { type AddressPlan, type NodePlan, ofFamilies } from './address-plan.js'
import { configurationFolder } from './node-files.js'

/** Where the programs of a machine are on this one. */
export interface LocalPrograms {
  /** Folder of the programs of Kubernetes. */
  readonly kubernetes: string
  readonly etcd: string
  readonly containerd: string
  /** Folder of the CNI plug-ins. */
  readonly plugins: string
}

/** A folder of this machine, by the place where another machine sees it. */
export interface MachineFolder {
  readonly source: string
  readonly target: string
}

/** What is to run on a machine. */
export interface MachineProgram {
  readonly name: string
  readonly command: readonly string[]
}

/** A machine: namespaces with a script as their first process, by whose end everything in them ends. */
export interface Machine {
  readonly name: string
  /** Below the folder of the cluster. */
  readonly folder: string
  readonly programs: string
  /** Steps of start: the script waits for a word on its standard input before each. */
  readonly steps: readonly (readonly MachineProgram[])[]
}

/**
 * Settings of the whole machine that kubelet insists on. It finds these values where it looks for them, and so does not change what is not its own.
 */
const kernelSettings: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
}

/** Folders that a machine has for itself, by where it sees them. */
export function machineFolders({ folder }: Machine): readonly MachineFolder[] {
  return [
    { source: `${folder}/log`, target: '/var/log' },
    { source: `${folder}/lib`, target: '/var/lib' },
  ]
}

/** Where a machine sees the programs of Kubernetes: it hides folders of this machine in which they may be. */
const programsFolder = '/run/kubernetes'

/** The script that is the first process of a machine. */
export function machineScript(machine: Machine): string {
  const memory = (folder: string, mode: string): string => `mount -t tmpfs -o mode=${mode} tmpfs ${folder}`
  return [
    'set -eu',
    memory('/run', '755'),
    `mkdir -p /run/lock ${programsFolder} /run/kernel`,
    `mount --bind ${quote(machine.programs)} ${programsFolder}`,
    ...Object.entries(kernelSettings).flatMap(([path, value]) => {
      const file = `/run/kernel/${path.replaceAll('/', '.')}`
      return [`echo ${value} > ${file}`, `if [ -e /proc/sys/${path} ]; then mount --bind ${file} /proc/sys/${path}; fi`]
    }),
    ...machineFolders(machine).map(({ source, target }) => `mount --bind ${quote(source)} ${target}`),
    memory('/tmp', '1777'),
    // All other folders are those of this machine, and stay as they are.
    'mount -o remount,bind,ro /',
    // What kubelet mounts for a pod has to be seen by the runtime, and the other way round.
    'mount --make-rshared /',
    `hostname ${quote(machine.name)}`,
    'ip link set lo up',
    'echo 1 > /proc/sys/net/ipv4/ip_forward',
    'if [ -e /proc/sys/net/ipv6/conf/all/forwarding ]; then echo 1 > /proc/sys/net/ipv6/conf/all/forwarding; fi',
    keepFunction,
    ...machine.steps.flatMap((programs) => ['read -r go', ...programs.map(keepCommand)]),
    'exec < /dev/null',
    // The first process inherits those whose parents have ended; waiting takes leave of them.
    'while :; do wait; sleep 1; done',
    '',
  ].join('\n')
}

/** What runs on the control plane. */
export function controlPlaneSteps(plan: AddressPlan, programs: LocalPrograms): Machine['steps'] {
  const file = (name: string): string => `${configurationFolder}/${name}`
  const user = (name: string): Readonly<Record<string, string>> => ({
    kubeconfig: file(`${name}.kubeconfig`),
    'bind-address': '127.0.0.1',
    'leader-elect': 'false',
    profiling: 'false',
  })
  return [
    [
      {
        name: 'etcd',
        command: withFlags(programs.etcd, {
          name: 'etcd',
          // In memory: no one waits for a disk, and nothing of it is wanted after the end.
          'data-dir': '/run/etcd',
          'listen-client-urls': 'http://127.0.0.1:2379',
          'advertise-client-urls': 'http://127.0.0.1:2379',
          'listen-peer-urls': 'http://127.0.0.1:2380',
          'initial-advertise-peer-urls': 'http://127.0.0.1:2380',
          'initial-cluster': 'etcd=http://127.0.0.1:2380',
          'quota-backend-bytes': String(4 * 1024 ** 3),
          'log-level': 'warn',
        }),
      },
      { name: 'kube-apiserver', command: withFlags(`${programsFolder}/kube-apiserver`, apiServerFlags(plan, file)) },
      {
        name: 'kube-controller-manager',
        command: withFlags(`${programsFolder}/kube-controller-manager`, {
          ...user('kube-controller-manager'),
          'root-ca-file': file('ca.crt'),
          'service-account-private-key-file': file('accounts.key'),
          'use-service-account-credentials': 'true',
          'allocate-node-cidrs': 'false',
          // The default is a folder below /usr, which is made if it is missing.
          'flex-volume-plugin-dir': '/run/volume-plugins',
        }),
      },
      {
        name: 'kube-scheduler',
        command: withFlags(`${programsFolder}/kube-scheduler`, user('kube-scheduler')),
      },
    ],
  ]
}

/** What runs on a node. kube-proxy comes in its own step: it wants to find its node registered, and else waits for half a minute. */
export function nodeSteps(node: NodePlan, programs: LocalPrograms): Machine['steps'] {
  return [
    [
      { name: 'containerd', command: [programs.containerd, '--config', `${configurationFolder}/containerd.toml`] },
      {
        name: 'kubelet',
        command: withFlags(`${programsFolder}/kubelet`, {
          config: `${configurationFolder}/kubelet.json`,
          kubeconfig: `${configurationFolder}/kubelet.kubeconfig`,
          'hostname-override': node.name,
          'node-ip': ofFamilies(node.address, node.ipv6?.address),
        }),
      },
    ],
    [
      {
        name: 'kube-proxy',
        command: withFlags(`${programsFolder}/kube-proxy`, { config: `${configurationFolder}/kube-proxy.json` }),
      },
    ],
  ]
}

function apiServerFlags(plan: AddressPlan, file: (name: string) => string): Readonly<Record<string, string>> {
  return {
    'etcd-servers': 'http://127.0.0.1:2379',
    'bind-address': '0.0.0.0',
    'advertise-address': plan.controlPlane,
    'secure-port': '6443',
    'tls-cert-file': file('api-server.crt'),
    'tls-private-key-file': file('api-server.key'),
    'token-auth-file': file('tokens.csv'),
    'authorization-mode': 'Node,RBAC',
    'enable-admission-plugins': 'NodeRestriction',
    'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
    'service-account-signing-key-file': file('accounts.key'),
    'service-account-key-file': file('accounts.pub'),
    'service-cluster-ip-range': ofFamilies(plan.services, plan.ipv6?.services),
    'kubelet-certificate-authority': file('ca.crt'),
    'kubelet-client-certificate': file('kubelet-client.crt'),
    'kubelet-client-key': file('kubelet-client.key'),
    'kubelet-preferred-address-types': 'InternalIP',
    // Kubernetes 1.34 has the API of podCertificate volumes behind a gate.
    'feature-gates': 'PodCertificateRequest=true',
    'runtime-config': 'certificates.k8s.io/v1alpha1=true',
    'allow-privileged': 'true',
    profiling: 'false',
  }
}

/** Starts a program again whenever it has ended, as an init system does. */
const keepFunction = `keep() {
  log="/var/log/$1.log"
  shift
  while :; do
    "$@" < /dev/null >> "$log" 2>&1 || echo "osm-cluster: ended with $?; starting it again" >> "$log"
    sleep 1
  done
}`

function keepCommand({ name, command }: MachineProgram): string {
  return `keep ${[name, ...command].map(quote).join(' ')} &`
}

function withFlags(file: string, flags: Readonly<Record<string, string>>): readonly string[] {
  return [file, ...Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)]
}

/** One word of a shell's command line, whatever is in it. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
