export {
  formatProbeBindings,
  probeBindingsAnnotation,
  ProbeBindingsReader,
  probePorts,
  type ProbeBindingsReading,
} from './probe-annotation.js'
