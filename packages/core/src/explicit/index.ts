export {
  type ListeningMachine,
  type MachineClaims,
  type MachineListeners,
  machineListeners,
} from './machine-listeners.js'
export { inboundKeys, openedKeys, servedPorts } from './served-ports.js'
export {
  environmentName,
  firstOfVariable,
  type TcpServicePort,
  tcpServicePorts,
  tcpVariable,
} from './tcp-service-ports.js'
