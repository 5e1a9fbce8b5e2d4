package lochan.spark;

import org.apache.spark.QueryContext;
import org.apache.spark.sql.AnalysisException;
import scala.Option;
import scala.collection.immutable.Map$;

/** What the lake refuses, as Spark's users know errors: an AnalysisException with a condition such as LOCHAN_NOT_FOUND. */
final class LochanException {
  private LochanException() {}

  static RuntimeException of(String kind, String message, Throwable cause) {
    String condition = "LOCHAN_" + kind.replaceAll("([a-z])([A-Z])", "$1_$2").toUpperCase();
    AnalysisException made =
        new AnalysisException(
            "[" + condition + "] " + message,
            Option.empty(),
            Option.empty(),
            Option.apply(cause),
            Option.apply(condition),
            Map$.MODULE$.empty(),
            new QueryContext[0]);
    return unchecked(made);
  }

  /** Spark's interfaces declare no exceptions, and Scala, which calls them, does not mind. */
  @SuppressWarnings("unchecked")
  private static <T extends Throwable> RuntimeException unchecked(Throwable error) throws T {
    throw (T) error;
  }
}
