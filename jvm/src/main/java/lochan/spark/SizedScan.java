package lochan.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.OptionalLong;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.execution.datasources.v2.PushedDownOperators;
import org.apache.spark.sql.execution.datasources.v2.V1ScanWrapper;
import org.apache.spark.sql.sources.Filter;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A scan that tells Spark its size, so that a small table is broadcast in a join.
 *
 * <p>Spark wraps a scan such as ours in a class of its own, which tells no size; this is that class, and does.
 */
final class SizedScan extends V1ScanWrapper implements SupportsReportStatistics {
  private final LochanScan scan;

  SizedScan(LochanScan scan, Filter[] filters) {
    super(scan, CollectionConverters.asScala(Arrays.asList(filters)).toSeq(), nothingElse());
    this.scan = scan;
  }

  @Override
  public String description() {
    return scan.description();
  }

  /** Of the objects that the filters leave, as they lie on the store. */
  @Override
  public Statistics estimateStatistics() {
    JsonNode size = scan.planned().get("size");
    return new Statistics() {
      @Override
      public OptionalLong sizeInBytes() {
        return OptionalLong.of(size.get("bytes").asLong());
      }

      @Override
      public OptionalLong numRows() {
        return size.get("rows").isNull() ? OptionalLong.empty() : OptionalLong.of(size.get("rows").asLong());
      }
    };
  }

  /** Only filters are pushed down. By its types, for versions of Spark differ in how many operators there are. */
  private static PushedDownOperators nothingElse() {
    var made = PushedDownOperators.class.getConstructors()[0];
    Object[] none =
        Arrays.stream(made.getParameterTypes())
            .map(each -> each == Option.class ? Option.empty() : scala.collection.immutable.Nil$.MODULE$)
            .toArray();
    try {
      return (PushedDownOperators) made.newInstance(none);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
  }
}
