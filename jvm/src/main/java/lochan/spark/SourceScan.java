package lochan.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.OptionalLong;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.V1Scan;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.sources.TableScan;
import org.apache.spark.sql.types.StructType;

/** One read of a frame, with its own filters and objects. It is planned once, when Spark asks how large it is. */
final class SourceScan implements V1Scan, SupportsReportStatistics {
  private final SourceTable table;
  private final StructType columns;
  private final Filter[] filters;
  private JsonNode planned;

  SourceScan(SourceTable table, StructType columns, Filter[] filters) {
    this.table = table;
    this.columns = columns;
    this.filters = filters;
  }

  @Override
  public StructType readSchema() {
    return columns;
  }

  @Override
  public String description() {
    return table.name() + " filters: " + Arrays.toString(filters);
  }

  @Override
  @SuppressWarnings("unchecked")
  public <T extends BaseRelation & TableScan> T toV1TableScan(SQLContext context) {
    return (T) new LochanRelation(context, columns, filters, planned());
  }

  @Override
  public Statistics estimateStatistics() {
    long bytes = 0;
    for (JsonNode scan : planned().get("scans")) {
      for (JsonNode file : scan.get("files")) {
        bytes += file.get(1).asLong();
      }
    }
    return new Size(OptionalLong.of(bytes), OptionalLong.empty());
  }

  @Override
  public MicroBatchStream toMicroBatchStream(String checkpoint) {
    return table.pythonScan().build().toMicroBatchStream(checkpoint);
  }

  private synchronized JsonNode planned() {
    if (planned == null) {
      ObjectNode request = table.plan();
      request.set("filters", FilterJson.of(filters));
      planned = SourceTable.ask(request);
    }
    return planned;
  }

  private record Size(OptionalLong sizeInBytes, OptionalLong numRows) implements Statistics {}
}
