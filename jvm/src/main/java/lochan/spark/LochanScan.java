package lochan.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.connector.read.V1Scan;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/** One read of a table. It is planned by the lake when Spark plans its query, so that each scan has its own objects. */
final class LochanScan implements V1Scan {
  private final Planner planner;
  private final String uri;
  private final StructType table;
  private final StructType columns;
  private final Filter[] filters;
  private JsonNode planned;

  LochanScan(Planner planner, String uri, StructType table, StructType columns, Filter[] filters) {
    this.planner = planner;
    this.uri = uri;
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
    return "lochan " + uri + " filters: " + Arrays.toString(filters);
  }

  @Override
  @SuppressWarnings("unchecked")
  public <T extends BaseRelation & org.apache.spark.sql.sources.TableScan> T toV1TableScan(SQLContext context) {
    return (T) new LochanRelation(context, columns, filters, planned());
  }

  /** Asked for once: by whoever wants to know the size of the scan, or by whoever runs it. */
  synchronized JsonNode planned() {
    if (planned == null) {
      ObjectNode request = Planner.request("plan").put("uri", uri);
      request.set("filters", FilterJson.of(filters));
      request.set("metadata", MetadataColumns.among(columns, table));
      planned = planner.ask(request);
    }
    return planned;
  }
}
