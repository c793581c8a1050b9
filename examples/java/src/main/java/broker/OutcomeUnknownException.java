package broker;

/** A write may have been done: read, then decide. */
final class OutcomeUnknownException extends RuntimeException {
  private static final long serialVersionUID = 1;

  OutcomeUnknownException(Throwable cause) {
    super("the outcome is unknown: " + cause.getMessage(), cause);
  }
}
